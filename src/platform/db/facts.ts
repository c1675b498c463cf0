/** Small facts about this installation, by name. */
import { type Kysely, sql } from 'kysely';

export const readFact = async (db: Kysely<unknown>, name: string): Promise<string | undefined> => {
  const { rows } = await sql<{ value: string }>`select value from platform.facts where name = ${name}`.execute(db);
  return rows[0]?.value;
};

/** Writes the fact unless it is there; returns the value that holds. A read-only transaction may read one that is there. */
export const settleFact = async (db: Kysely<unknown>, name: string, value: string): Promise<string> => {
  const found = await readFact(db, name);
  if (found !== undefined) return found;
  await sql`insert into platform.facts (name, value) values (${name}, ${value}) on conflict (name) do nothing`.execute(
    db,
  );
  return (await readFact(db, name)) ?? value;
};

export const writeFact = async (db: Kysely<unknown>, name: string, value: string): Promise<void> => {
  await sql`
    insert into platform.facts (name, value) values (${name}, ${value})
    on conflict (name) do update set value = excluded.value`.execute(db);
};

/** Takes one off a fact that is a number. False when nothing is left, or there is no such fact; the last one removes it. */
export const takeOneOf = async (db: Kysely<unknown>, name: string): Promise<boolean> => {
  const { rows } = await sql<{ value: string }>`
    update platform.facts set value = (value::integer - 1)::text
    where name = ${name} and value::integer > 0 returning value`.execute(db);
  const left = rows[0]?.value;
  if (left === '0') await sql`delete from platform.facts where name = ${name} and value = '0'`.execute(db);
  return left !== undefined;
};

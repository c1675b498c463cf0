/** Small facts about this installation, by name. */
import { type Kysely, sql } from 'kysely';

export const readFact = async (db: Kysely<unknown>, name: string): Promise<string | undefined> => {
  const { rows } = await sql<{ value: string }>`select value from platform.facts where name = ${name}`.execute(db);
  return rows[0]?.value;
};

/** Writes the fact unless another process was first; returns the value that holds. */
export const settleFact = async (db: Kysely<unknown>, name: string, value: string): Promise<string> => {
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

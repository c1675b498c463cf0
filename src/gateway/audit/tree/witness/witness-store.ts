/** SQL of what witnesses signed: the newest checkpoint of each, with its cosignature. */
import { type Kysely, sql } from 'kysely';

type Db = Kysely<unknown>;

export const readCosigned = async (
  db: Db,
  witness: string,
): Promise<{ size: number; checkpoint: string } | undefined> => {
  const { rows } = await sql<{ size: number; checkpoint: string }>`
    select size, checkpoint from gateway.audit_cosigned where witness = ${witness}`.execute(db);
  return rows[0];
};

/** Replaces a smaller checkpoint, and `broken`, a text that no gateway wrote. */
export const saveCosigned = async (
  db: Db,
  witness: string,
  { size, checkpoint, broken }: { size: number; checkpoint: string; broken: string | undefined },
): Promise<void> => {
  await sql`
    insert into gateway.audit_cosigned as c (witness, size, checkpoint, cosigned)
    values (${witness}, ${size}, ${checkpoint}, now())
    on conflict (witness) do update
    set size = excluded.size, checkpoint = excluded.checkpoint, cosigned = excluded.cosigned
    where c.size <= excluded.size or c.checkpoint = ${broken ?? null}`.execute(db);
};

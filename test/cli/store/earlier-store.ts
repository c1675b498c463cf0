/** A store whose keys are derived from its master key itself, as a release made it that knew no sealed root. */
import type { Kysely } from 'kysely';
import { settleFact } from '#src/platform/db/facts.ts';
import { createSecretBox, type SecretBox } from '#src/platform/secret-box.ts';

/** For a test that uses the keys itself beside a program with the same master key. `db`: no program has opened it yet. */
export const boxOfEarlierStore = async (db: Kysely<unknown>, masterKey: Buffer): Promise<SecretBox> => {
  const box = createSecretBox(masterKey);
  await settleFact(db, 'master_key_check', box.derive('master-key-check').toString('hex'));
  return box;
};

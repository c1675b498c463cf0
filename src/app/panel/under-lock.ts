/** For a change of a client or key that is made only while what is stored is as expected: no other change comes between. */
import type { Kysely } from 'kysely';
import { lockCredential } from '#src/gateway/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';

type Work<T> = Parameters<typeof inTransaction<T>>[1];

export const underLock = <T>(
  db: Kysely<unknown>,
  kind: Parameters<typeof lockCredential>[1],
  id: string,
  work: Work<T>,
): Promise<T> =>
  inTransaction(db, async (tx) => {
    await lockCredential(tx, kind, id);
    return work(tx);
  });

/** What every change of a credential shares: one transaction that ends with a higher epoch, and a line in the history. */
import type { Kysely, Transaction } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { raiseEpoch } from './credential-epoch-store.ts';

export type Tx = Transaction<unknown>;

export type CredentialsDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'digest'>;
  clock: Clock;
  /** Scopes that exist; without the list any name is taken. */
  scopes?: readonly string[];
  /** Who makes the changes, for their history. */
  actor?: string;
};

export const change = <T>({ db }: CredentialsDeps, tx: Tx | undefined, work: (tx: Tx) => Promise<T>): Promise<T> => {
  const run = async (inner: Tx): Promise<T> => {
    const result = await work(inner);
    await raiseEpoch(inner);
    return result;
  };
  return tx === undefined ? inTransaction(db, run) : run(tx);
};

export const assertFound = (found: boolean, what: string, id: string): void => {
  if (!found) throw new Fault('NOT_FOUND', `There is no ${what} ${id}`);
};

/** Why and by whom; `actor` of the deps when the call names none. */
export const signature = (deps: CredentialsDeps, reason: string): { reason: string; actor: string; at: Date } => ({
  reason,
  actor: deps.actor ?? 'system',
  at: deps.clock.now(),
});

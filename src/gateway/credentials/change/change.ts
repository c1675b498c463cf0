/** What every change of a credential shares: one transaction that ends with a higher epoch, and a line in the history. */
import type { Kysely, Transaction } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { AuditAction, NewAuditEvent } from '../../audit/event/event.ts';
import { createFingerprint } from '../../audit/event/fingerprint.ts';
import { appendChange } from '../../audit/record/append-change.ts';
import { raiseEpoch } from '../lookup/epoch-store.ts';
import { insertStateChange, type StateChange } from './state-store.ts';

export type Tx = Transaction<unknown>;

export type CredentialsDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'digest' | 'derive'>;
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

/** How a value is kept: what it is known by, and what it is named by. */
export const keptOf = ({ box }: CredentialsDeps, value: string): { digest: Buffer; fingerprint: string } => ({
  digest: box.digest(value),
  fingerprint: createFingerprint(box)(value),
});

export const assertFound = (found: boolean, what: string, id: string): void => {
  if (!found) throw new Fault('NOT_FOUND', `There is no ${what} ${id}`);
};

/** One line of the audit, in the transaction of the change. `actor` of the deps when the call names none. */
export const noteChange = (deps: CredentialsDeps, tx: Tx, event: NewAuditEvent): Promise<void> =>
  appendChange(tx, deps.box, deps.clock.now(), { actor: deps.actor ?? 'system', ...event });

type StateKind = Exclude<StateChange['kind'], 'token'>;

/** The same, and a line in the history of the credential. */
export const noteState = async (
  deps: CredentialsDeps,
  tx: Tx,
  { kind, credential, state, reason }: { kind: StateKind } & Pick<StateChange, 'credential' | 'state' | 'reason'>,
): Promise<void> => {
  const actor = deps.actor ?? 'system';
  await insertStateChange(tx, { kind, credential, state, reason, actor, at: deps.clock.now() });
  const isClient = kind === 'client' || kind === 'tokens';
  const about = isClient ? { client_id: credential } : { credential_id: credential };
  const details = JSON.stringify({ state });
  await noteChange(deps, tx, { action: actionOf(kind, state), reason, ...about, details });
};

const actionOf = (kind: StateKind, state: StateChange['state']): AuditAction => {
  const ends = state === 'revoked' || state === 'expiring';
  switch (kind) {
    case 'client':
      return ends ? 'client.disabled' : 'client.state_changed';
    case 'secret':
      return ends ? 'secret.retired' : 'secret.state_changed';
    case 'api_key':
      if (state === 'expiring') return 'key.rotated';
      return ends ? 'key.revoked' : 'key.state_changed';
    case 'client_key':
      return 'client_key.revoked';
    case 'tokens':
      return 'client.tokens_revoked';
  }
};

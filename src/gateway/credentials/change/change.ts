/** Common parts of all changes: a transaction that raises the epoch at its end and names what changed, and an event in the audit. */
import type { Transaction } from 'kysely';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { AuditAction, NewAuditEvent } from '../../audit/event/event.ts';
import { createFingerprint } from '../../audit/event/fingerprint.ts';
import { appendChange } from '../../audit/record/append-change.ts';
import { recordSignals } from '../../audit/signals/events/record-signals.ts';
import { type ChangedCredentials, raiseEpoch } from '../lookup/epoch-store.ts';
import type { CredentialsDeps } from '../state/credentials-deps.ts';
import { findHolder, insertStateChange, type StateChange } from '../state/state-store.ts';

export type Tx = Transaction<unknown>;

/** The keys and clients whose records a change affects: gateways forget these and no others (lookup/cache.ts). */
export type Affected = { credentials: ChangedCredentials; revokes: boolean };

const listOf = (ids: string | readonly string[]): readonly string[] => (typeof ids === 'string' ? [ids] : ids);

/** Ids of keys and clients. */
export const only = (ids: string | readonly string[]): Affected => ({ credentials: listOf(ids), revokes: false });
/** The same for a change after which something is refused that was accepted. */
export const revoking = (ids: string | readonly string[]): Affected => ({ credentials: listOf(ids), revokes: true });
/** No record holds what changes. */
export const none: Affected = only([]);
/** For changes that affect an unknown number of credentials. */
export const all: Affected = { credentials: 'all', revokes: false };

/** chosen: with more, it costs a gateway less to forget everything. */
const namedMax = 100;

export const change = <T>(
  { db, clock }: CredentialsDeps,
  tx: Tx | undefined,
  affected: Affected | ((result: T) => Affected),
  work: (tx: Tx) => Promise<T>,
): Promise<T> => {
  const run = async (inner: Tx): Promise<T> => {
    const result = await work(inner);
    const { credentials, revokes } = typeof affected === 'function' ? affected(result) : affected;
    const named = credentials.length > namedMax ? 'all' : credentials;
    await raiseEpoch(inner, named, revokes ? clock.now() : undefined);
    return result;
  };
  return tx === undefined ? inTransaction(db, run) : run(tx);
};

/** The stored form of a secret value: the digest identifies it, and the fingerprint names it in the audit. */
export const storedForm = ({ box }: CredentialsDeps, value: string): { digest: Buffer; fingerprint: string } => ({
  digest: box.digest(value),
  fingerprint: createFingerprint(box)(value),
});

/**
 * Adds an event to the audit, and what it means to the streams of receivers (../../audit/signals), in the transaction of the change.
 * The actor is that of the deps unless the event has one.
 */
export const noteChange = async (deps: CredentialsDeps, tx: Tx, event: NewAuditEvent): Promise<void> => {
  const now = deps.clock.now();
  const noted = { actor: deps.actor ?? 'system', ...event };
  await recordSignals(tx, noted, now);
  await appendChange(tx, deps.box, now, noted);
};

type NewState = { ended?: true } & Pick<StateChange, 'kind' | 'credential' | 'state' | 'reason'>;

/**
 * Adds an event to the audit, and an entry to the history of the credential. `ended`: a credential that is `expiring` ends with this
 * change, which receivers of signals have to know as a revocation.
 */
export const noteState = async (
  deps: CredentialsDeps,
  tx: Tx,
  { kind, credential, state, reason, ended }: NewState,
): Promise<void> => {
  const actor = deps.actor ?? 'system';
  await insertStateChange(tx, { kind, credential, state, reason, actor, at: deps.clock.now() });
  // The event also names the client or the tenant, so that it is found among all events of that one.
  const about =
    kind === 'client' || kind === 'tokens' ? { client_id: credential } : await holderOf(tx, kind, credential);
  const details = JSON.stringify({ state, ended });
  await noteChange(deps, tx, { action: actionOf(kind, state), reason, ...about, details });
};

export const holderOf = async (
  tx: Tx,
  kind: Exclude<StateChange['kind'], 'client' | 'tokens'>,
  credential: string,
): Promise<Pick<NewAuditEvent, 'credential_id' | 'client_id' | 'tenants'>> => {
  const named = { credential_id: credential };
  if (kind === 'client_key') return { ...named, client_id: credential.slice(0, credential.indexOf('/')) };
  const holder = await findHolder(tx, kind, credential);
  if (holder === undefined) return named;
  return kind === 'secret' ? { ...named, client_id: holder } : { ...named, tenants: [holder] };
};

const actionOf = (kind: StateChange['kind'], state: StateChange['state']): AuditAction => {
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

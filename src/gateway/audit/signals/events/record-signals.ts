/** Queues the security events of a change in its transaction, so that both commit or neither does. */
import type { Kysely } from 'kysely';
import { newId } from '#src/platform/ids.ts';
import type { NewAuditEvent } from '../../event/event.ts';
import { deleteUnseen, hasStreams, insertSignal, lockStreams, readTenantsOf } from './queue-store.ts';
import { type Signal, signalsOf } from './signals-of.ts';

/** chosen: a longer list is no claim of a token that a receiver compares; it reads whoami instead. */
const tenantsMax = 100;

/** `tx`: the transaction of the change, after its rows were written. Without streams it costs one look at an empty table. */
export const recordSignals = async (tx: Kysely<unknown>, event: NewAuditEvent, now: Date): Promise<void> => {
  if (!(await hasStreams(tx))) return;
  const clientId = event.client_id ?? null;
  // Also for an event without signals: after it the chain of changes is locked, and a later event of the change may have some.
  await lockStreams(tx, clientId);
  const signals = signalsOf(event, now);
  if (signals.length === 0) return;
  const txn = newId('txn', now.getTime());
  const credentialId = event.credential_id ?? null;
  for (const signal of signals) {
    const payload = await withClaims(tx, signal, clientId);
    const about = { clientId, credentialId, session: signal.session ?? null };
    await insertSignal(tx, about, { id: newId('set', now.getTime()), txn, type: signal.type, payload, at: now });
  }
  // A client that was quarantined or disabled sees its own events only, also of those that wait.
  if (clientId !== null && /^client\.(state_changed|disabled)$/.test(event.action)) await deleteUnseen(tx, clientId);
};

const withClaims = async (
  tx: Kysely<unknown>,
  { payload, tenants }: Signal,
  clientId: string | null,
): Promise<object> => {
  if (tenants === undefined || clientId === null) return payload;
  const held = await readTenantsOf(tx, clientId, tenantsMax + 1);
  return { ...payload, claims: { tenants: held.length > tenantsMax ? null : held } };
};

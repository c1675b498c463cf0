/** Queues the security events of a change in its transaction, so that both commit or neither does. */
import type { Kysely } from 'kysely';
import { newId } from '#src/platform/ids.ts';
import type { NewAuditEvent } from '../../event/event.ts';
import { deleteUnseen, hasStreams, insertSignal, readTenantsOf } from './queue-store.ts';
import { type Signal, signalsOf } from './signals-of.ts';

/** chosen: a longer list is no claim of a token that a receiver compares; it reads whoami instead. */
const tenantsMax = 100;

/** `tx`: the transaction of the change, after its rows were written. Without streams it costs one look at an empty table. */
export const recordSignals = async (tx: Kysely<unknown>, event: NewAuditEvent, now: Date): Promise<void> => {
  const signals = signalsOf(event, now);
  if (signals.length === 0 || !(await hasStreams(tx))) return;
  const txn = newId('txn', now.getTime());
  const clientId = event.client_id ?? null;
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

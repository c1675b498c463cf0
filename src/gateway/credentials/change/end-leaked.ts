/**
 * Ends a credential whose value was reported as leaked (interface 29). A report changes a credential once, so that repeated
 * reports add no rows. The caller has proven that the value was issued here.
 */
import { inTransaction } from '#src/platform/db/transaction.ts';
import { lockChanges } from '../../audit/chain/open-chain.ts';
import type { NewAuditEvent } from '../../audit/event/event.ts';
import { lockStreams } from '../../audit/signals/events/queue-store.ts';
import { lockEpoch, raiseTokenEpoch } from '../lookup/epoch-store.ts';
import { leakMarginMs } from '../lookup/records.ts';
import { insertRevokedToken, isTokenRevoked, renewRevokedToken } from '../lookup/revoked-token-store.ts';
import { longestTokenSeconds } from '../show/token-end-store.ts';
import type { CredentialsDeps } from '../state/credentials-deps.ts';
import { markKeyLeaked, markSecretLeaked, markTokenLeaked, wasReported } from '../state/leak-store.ts';
import { findHolder, lockClient, updateTokensNotBefore } from '../state/state-store.ts';
import { change, none, noteChange, noteState, revoking, type Tx } from './change.ts';

export type LeakedCredential =
  | { kind: 'api_key'; id: string }
  | { kind: 'client_secret'; id: string }
  | { kind: 'token'; id: string; clientId: string; expiresMs: number };

/** Who reported it and where it was found, for the audit. `url` and `source`: cleaned. */
export type LeakReport = {
  actor: string;
  address: string | null;
  requestId: string;
  url: string | null;
  /** What it was found in, such as `commit`. */
  source: string | null;
};

/** `ended`: by this report. `known`: it had been reported, or had ended, before. */
type LeakOutcome = 'ended' | 'known';

export type EndLeaked = (leaked: LeakedCredential, report: LeakReport) => Promise<LeakOutcome>;

const reason = 'ended by a leak report';

/**
 * When it resolves, the change is committed, and every gateway refuses the credential within a second. A secret ends with every
 * token of its client: gateways cannot see for which secret a token was issued.
 */
export const createEndLeaked = (given: Omit<CredentialsDeps, 'actor' | 'scopes'>): EndLeaked => {
  return async (leaked, report) => {
    // Read before anything is locked. A report needs the value alone, so it may come again and again, and a change makes all
    // gateways read the credentials again and other changes wait, also one that changes nothing.
    if (await wasReported(given.db, leaked)) return 'known';
    const deps: CredentialsDeps = { ...given, actor: report.actor };
    switch (leaked.kind) {
      case 'api_key':
        return endKey(deps, leaked.id, report);
      case 'client_secret':
        return endSecret(deps, leaked.id, report);
      case 'token':
        return endToken(deps, leaked, report);
    }
  };
};

const endKey = async (deps: CredentialsDeps, id: string, report: LeakReport): Promise<LeakOutcome> =>
  (
    await change(deps, undefined, affectedBy, async (tx) => {
      const marked = await markKeyLeaked(tx, id, reason, deps.clock.now());
      if (marked === undefined) return { outcome: 'known' as const };
      const ended = marked.endedMs === null;
      if (ended) await noteState(deps, tx, { kind: 'api_key', credential: id, state: 'revoked', reason });
      await noteReport(deps, tx, report, ended, { kind: 'api_key', credential_id: id, tenants: [marked.tenant] });
      return { outcome: ended ? ('ended' as const) : ('known' as const), affected: id };
    })
  ).outcome;

const endSecret = async (deps: CredentialsDeps, id: string, report: LeakReport): Promise<LeakOutcome> =>
  (
    await change(deps, undefined, affectedBy, async (tx) => {
      // The client before its secret and both before the chain of changes, as every other change locks them.
      const holder = await findHolder(tx, 'secret', id);
      if (holder === undefined) return { outcome: 'known' as const };
      await lockClient(tx, holder);
      const now = deps.clock.now();
      const marked = await markSecretLeaked(tx, id, now);
      if (marked === undefined) return { outcome: 'known' as const };
      const { clientId, tenants, endedMs } = marked;
      const ended = endedMs === null;
      if (ended) await noteState(deps, tx, { kind: 'secret', credential: id, state: 'revoked', reason });
      // Tokens of a secret that ended long ago have ended too.
      if (ended || now.getTime() - endedMs < (await longestTokenSeconds(tx)) * 1000) {
        await updateTokensNotBefore(tx, clientId, new Date(now.getTime() + leakMarginMs));
        await noteState(deps, tx, { kind: 'tokens', credential: clientId, state: 'revoked', reason });
      }
      const about = { kind: 'api_client', credential_id: id, client_id: clientId, tenants };
      await noteReport(deps, tx, report, ended, about);
      return { outcome: ended ? ('ended' as const) : ('known' as const), affected: clientId };
    })
  ).outcome;

const affectedBy = ({ affected }: { affected?: string }) => (affected === undefined ? none : revoking(affected));

const endToken = (
  deps: CredentialsDeps,
  { id: jti, clientId, expiresMs }: Extract<LeakedCredential, { kind: 'token' }>,
  report: LeakReport,
): Promise<LeakOutcome> =>
  inTransaction(deps.db, async (tx) => {
    const now = deps.clock.now();
    const about = { token_id: jti, client_id: clientId };
    // The streams before the chain and the chain before the epoch, as every other change locks them. The epoch serialises
    // revocations, so that one report of several at once ends the token.
    await lockStreams(tx, clientId);
    await lockChanges(tx, deps.box, now);
    await lockEpoch(tx);
    if (await isTokenRevoked(tx, jti)) {
      if (await markTokenLeaked(tx, jti, now)) {
        await noteReport(deps, tx, report, false, about);
        // Gateways read the row again, for the reason of their denials.
        await renewRevokedToken(tx, jti, await raiseTokenEpoch(tx));
      }
      return 'known';
    }
    // The audit alone keeps what outlives the token, as where a client revokes it (revoke-token.ts).
    await noteChange(deps, tx, { action: 'token.revoked', reason, ...about });
    await noteReport(deps, tx, report, true, about);
    const state = await raiseTokenEpoch(tx);
    await insertRevokedToken(tx, { jti, clientId, expires: new Date(expiresMs), leaked: true }, state, now);
    return 'ended';
  });

const noteReport = (
  deps: CredentialsDeps,
  tx: Tx,
  { address, requestId, url, source }: LeakReport,
  ended: boolean,
  about: Partial<NewAuditEvent>,
): Promise<void> =>
  noteChange(deps, tx, {
    action: 'leak.reported',
    request_ids: [requestId],
    address,
    ...about,
    details: JSON.stringify({ ended, ...(url !== null && { url }), ...(source !== null && { source }) }),
  });

/** Revokes one access token before it expires. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { lockChanges } from '../../audit/chain/open-chain.ts';
import type { NewAuditEvent } from '../../audit/event/event.ts';
import { appendChange } from '../../audit/record/append-change.ts';
import { lockStreams } from '../../audit/signals/events/queue-store.ts';
import { recordSignals } from '../../audit/signals/events/record-signals.ts';
import { lockEpoch, raiseTokenEpoch } from '../lookup/epoch-store.ts';
import { deleteEndedRevocations, insertRevokedToken, isTokenRevoked } from '../lookup/revoked-token-store.ts';

type RevokedToken = { jti: string; clientId: string; expiresMs: number };

/**
 * `by`: reason and actor. `about`: the request that revokes, for the audit. When it resolves, the revocation is committed, and
 * every gateway reads it within a second. False: the token was revoked before. Then nothing is written, so that repeated calls
 * add no rows and the first reason stays.
 */
export type RevokeToken = (
  token: RevokedToken,
  by: { reason: string; actor: string },
  about?: Partial<NewAuditEvent>,
) => Promise<boolean>;

export const createRevokeToken =
  ({ db, box, clock }: { db: Kysely<unknown>; box: Pick<SecretBox, 'derive'>; clock: Clock }): RevokeToken =>
  ({ jti, clientId, expiresMs }, by, about) =>
    inTransaction(db, async (tx) => {
      // Without a lock first, so that repeated calls wait for no other change.
      if (await isTokenRevoked(tx, jti)) return false;
      const now = clock.now();
      await deleteEndedRevocations(tx, now);
      // The streams before the chain and the chain before the epoch, as every other change locks them. The epoch serialises
      // the revocations.
      await lockStreams(tx, clientId);
      await lockChanges(tx, box, now);
      await lockEpoch(tx);
      if (await isTokenRevoked(tx, jti)) return false;
      const event = { action: 'token.revoked', token_id: jti, client_id: clientId, ...by } as const;
      await recordSignals(tx, event, now);
      // The audit alone keeps what outlives the token: a client may revoke any number, and the history of credentials never ends.
      await appendChange(tx, box, now, { ...about, ...event });
      // Each epoch number has a row, by which a gateway checks that the store still holds the history it has read.
      const state = await raiseTokenEpoch(tx);
      await insertRevokedToken(tx, { jti, clientId, expires: new Date(expiresMs) }, state, now);
      return true;
    });

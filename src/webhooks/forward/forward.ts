/**
 * Sends recorded events to an address that a developer names, signed like deliveries of an endpoint. It makes no
 * delivery and records no attempt, so the endpoint and its log stay as they are.
 */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { type Clock, unixSeconds } from '#src/platform/clock.ts';
import { newId } from '#src/platform/ids.ts';
import { findEndpointByUid } from '../endpoints/endpoint-store.ts';
import type { Send } from '../send/send.ts';
import type { Failure } from '../send/send-result.ts';
import type { SignedHeaders } from '../signing/signed-headers.ts';

export type Forwarded = { status: number | null; failure: Failure | null; ms: number };

export type Forward = {
  /** Throws NOT_FOUND. */
  endpoint(uid: string): Promise<{ tenant: string; kinds: readonly string[] }>;
  /**
   * One attempt with the current secrets of the endpoint. Throws NOT_FOUND when it was removed; never throws for a
   * receiver.
   */
  send(endpointUid: string, event: { id: string; body: string }, url: string, signal: AbortSignal): Promise<Forwarded>;
};

type ForwardDeps = { db: Kysely<unknown>; clock: Clock; send: Send; headersFor: SignedHeaders };

export const createForward = ({ db, clock, send, headersFor }: ForwardDeps): Forward => {
  const found = async (uid: string) => {
    const endpoint = await findEndpointByUid(db, uid);
    if (endpoint === undefined) throw new Fault('NOT_FOUND', `There is no endpoint ${uid}`);
    return endpoint;
  };
  return {
    endpoint: found,
    send: async (endpointUid, { id, body }, url, signal) => {
      const now = clock.now();
      const delivery = {
        ...(await found(endpointUid)),
        url,
        uid: newId('dlv', now.getTime()),
        endpointUid,
        eventId: id,
        body,
        attemptsCount: 0,
      };
      const headers = await headersFor(delivery, unixSeconds(now));
      const { status, failure, timings } = await send(url, headers, body, signal);
      return { status, failure, ms: timings.total };
    },
  };
};

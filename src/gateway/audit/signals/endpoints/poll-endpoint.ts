/** A poll of a stream (RFC 8936): it confirms events that the receiver has, and returns those that wait. */
import type { Kysely } from 'kysely';
import { z } from 'zod';
import type { Logger } from '#src/platform/log.ts';
import type { PollWaits } from '../delivery/poll-waits.ts';
import type { SignSet } from '../delivery/sign-set.ts';
import { deleteEvents, readEvents } from '../events/queue-store.ts';
import { parseBody } from '../stream/stream-config.ts';
import { streamOfClient } from '../stream/stream-store.ts';
import { noSuchStream, type SignalAnswer, type SignalRequest } from './stream-endpoints.ts';

type PollDeps = { db: Kysely<unknown>; log: Logger; sign: SignSet; waits: PollWaits };

const eventsMax = 100;
const confirmedMax = 1_000;

const jti = z.string().min(1).max(200);
const pollBody = z.object({
  maxEvents: z.number().int().min(0).max(1_000_000).optional(),
  returnImmediately: z.boolean().default(false),
  ack: z.array(jti).max(confirmedMax).default([]),
  setErrs: z
    .record(jti, z.object({ err: z.string().max(100), description: z.string().max(1_000).optional() }))
    .refine((given) => Object.keys(given).length <= confirmedMax, `at most ${confirmedMax} events`)
    .default({}),
});

/**
 * `gone`: aborted when the receiver closes its connection. `stillAllowed` throws the refusal that the caller would get now: its
 * credential may end while the poll waits.
 */
export const createPoll =
  ({ db, log, sign, waits }: PollDeps) =>
  async (
    { clientId, streamId, body }: SignalRequest,
    gone: AbortSignal,
    stillAllowed: () => Promise<void>,
  ): Promise<SignalAnswer> => {
    const { maxEvents, returnImmediately, ack, setErrs } = parseBody(pollBody, body);
    const stream = await streamOfClient(db, clientId);
    if (stream === undefined || stream.streamId !== streamId || stream.delivery !== 'poll') throw noSuchStream();
    const refused = Object.entries(setErrs);
    if (refused.length > 0) {
      const codes = [...new Set(refused.map(([, { err }]) => err))].slice(0, 5);
      log.warn({ stream_id: streamId, events: refused.length, err_codes: codes }, 'a receiver refused security events');
    }
    const ended = [...ack, ...Object.keys(setErrs)];
    if (ended.length > 0) await deleteEvents(db, streamId, ended);
    const limit = Math.min(maxEvents ?? eventsMax, eventsMax);
    if (limit === 0) return { status: 200, body: { sets: {} } };
    let found = await readEvents(db, streamId, limit + 1);
    if (found.length === 0 && !returnImmediately) {
      await waits.forEvent(streamId, gone);
      await stillAllowed();
      found = await readEvents(db, streamId, limit + 1);
    }
    const sets: Record<string, string> = {};
    for (const event of found.slice(0, limit)) sets[event.jti] = await sign(event, stream);
    return { status: 200, body: { sets, ...(found.length > limit ? { moreAvailable: true } : undefined) } };
  };

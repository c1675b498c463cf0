/** Sets the status of a stream (SSF 1.0 section 8.1.2). A disabled stream holds no events. */
import type { Kysely } from 'kysely';
import { newId } from '#src/platform/ids.ts';
import { streamUpdated } from '../events/event-types.ts';
import { deleteAllEvents, insertStreamEvent } from '../events/queue-store.ts';
import { type Stream, type StreamStatus, updateStream } from './stream-store.ts';

/** `announced`: the transmitter changes it, so the receiver gets an event about it (section 8.1.5). */
export const changeStatus = async (
  tx: Kysely<unknown>,
  stream: Stream,
  { status, reason }: { status: StreamStatus; reason: string | null },
  now: Date,
  { announced }: { announced: boolean },
): Promise<void> => {
  await updateStream(tx, { ...stream, status, statusReason: reason }, now);
  if (status === 'disabled') await deleteAllEvents(tx, stream.streamId);
  if (!announced) return;
  const payload = { status, ...(reason === null ? undefined : { reason }) };
  const event = { id: newId('set', now.getTime()), type: streamUpdated, payload, at: now, always: true };
  await insertStreamEvent(tx, stream.streamId, event);
};

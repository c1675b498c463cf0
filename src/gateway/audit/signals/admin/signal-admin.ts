/** What operators do with streams of security events. Every change is in the audit. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { appendChange } from '../../record/append-change.ts';
import { rotateSignalKey } from '../delivery/signal-keys.ts';
import { deleteUnseen } from '../events/queue-store.ts';
import { changeStatus } from '../stream/change-status.ts';
import {
  deleteStream,
  findListedStream,
  type ListedStream,
  listStreams,
  lockStream,
  type Stream,
  updateReach,
} from '../stream/stream-store.ts';

type Deps = { db: Kysely<unknown>; box: Pick<SecretBox, 'derive' | 'seal'>; clock: Clock; actor: string };

/** What a stream of a client gets: the events of the client, those of every client and key, or none. */
type Reach = 'own' | 'all' | 'off';

const pageRows = 500;

export const createSignalAdmin = ({ db, box, clock, actor }: Deps) => {
  const note = (tx: Kysely<unknown>, clientId: string, details: object): Promise<void> =>
    appendChange(tx, box, clock.now(), {
      action: 'signals.changed',
      client_id: clientId,
      actor,
      details: JSON.stringify(details),
    });
  const onStream = (streamId: string, work: (tx: Kysely<unknown>, stream: Stream) => Promise<void>): Promise<void> =>
    inTransaction(db, async (tx) => {
      const stream = await lockStream(tx, streamId);
      if (stream === undefined) throw new Fault('NOT_FOUND', `There is no stream ${streamId}`);
      await work(tx, stream);
    });
  return {
    /** At most 500, in the sequence of their ids; `after`: the last id of the page before. */
    list: async (after = '') => (await listStreams(db, after, pageRows)).map(shown),
    /** Undefined: there is no such stream. */
    find: async (streamId: string) => {
      const stream = await findListedStream(db, streamId);
      return stream === undefined ? undefined : shown(stream);
    },
    /** Its events wait until the receiver or an operator enables it again. */
    pause: (streamId: string, reason: string): Promise<void> =>
      onStream(streamId, async (tx, stream) => {
        await changeStatus(tx, stream, { status: 'paused', reason }, clock.now(), { announced: true });
        await note(tx, stream.clientId, { stream: streamId, done: 'paused', reason });
      }),
    /** The events that waited in a paused stream are sent; of a disabled one those from now on. */
    resume: (streamId: string): Promise<void> =>
      onStream(streamId, async (tx, stream) => {
        await changeStatus(tx, stream, { status: 'enabled', reason: null }, clock.now(), { announced: true });
        await note(tx, stream.clientId, { stream: streamId, done: 'enabled' });
      }),
    rotateKey: () => rotateSignalKey({ db, box, clock, actor }),
    remove: (streamId: string): Promise<void> =>
      onStream(streamId, async (tx, stream) => {
        await deleteStream(tx, streamId);
        await note(tx, stream.clientId, { stream: streamId, done: 'deleted' });
      }),
    /** Events that wait and that the client may not see any more are deleted. */
    setReach: (clientId: string, reach: Reach): Promise<void> =>
      inTransaction(db, async (tx) => {
        if (!(await updateReach(tx, clientId, reach === 'own' ? null : reach)))
          throw new Fault('NOT_FOUND', `There is no client ${clientId}`);
        await deleteUnseen(tx, clientId);
        await note(tx, clientId, { done: 'reach', reach });
      }),
  };
};

/** Without the authorization of the receiver. */
const shown = (stream: ListedStream) => ({
  id: stream.streamId,
  clientId: stream.clientId,
  clientName: stream.clientName,
  reach: stream.reach ?? 'own',
  delivery: stream.delivery,
  endpointUrl: stream.endpointUrl,
  status: stream.status,
  reason: stream.statusReason,
  waiting: stream.waiting,
  failures: stream.failures,
  pushedAt: stream.pushedAt,
  lastError: stream.lastError,
  failedAt: stream.failedAt,
  created: stream.created,
});

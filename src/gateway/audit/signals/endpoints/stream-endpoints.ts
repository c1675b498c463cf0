/** Management of streams (SSF 1.0 section 8.1): configuration, status, subjects and verification. */
import type { Kysely } from 'kysely';
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { InChangeTurn } from '../../../limits/change-turns.ts';
import { rateLimited } from '../../../model/faults.ts';
import type { NewAuditEvent } from '../../event/event.ts';
import { appendChange } from '../../record/append-change.ts';
import { verification } from '../events/event-types.ts';
import { insertStreamEvent } from '../events/queue-store.ts';
import { changeStatus } from '../stream/change-status.ts';
import {
  applyConfiguration,
  assertUnchanged,
  parseBody,
  readConfiguration,
  showConfiguration,
  unsupplied,
  verificationSecondsMin,
} from '../stream/stream-config.ts';
import * as store from '../stream/stream-store.ts';
import { unicodeText } from '../stream/unicode-text.ts';
import { pollUrlOf } from './paths.ts';
import { subjectIdentifier, subjectIdOf } from './subjects.ts';

export type StreamDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'seal' | 'derive'>;
  clock: Clock;
  origin: string;
  inChangeTurn: InChangeTurn;
  /** What forbids that events are pushed to an address; undefined: nothing. Default: none may be. */
  pushProblem?: PushProblem | undefined;
};

type PushProblem = (url: string) => Promise<string | undefined>;

const noPush: PushProblem = () => Promise.resolve('cannot be used: this program pushes no events');

/** `streamId`: of the query. `body`: undefined for none. `about`: for the event of a change. */
export type SignalRequest = {
  clientId: string;
  streamId: string | undefined;
  body: unknown;
  about: Partial<NewAuditEvent>;
};
export type SignalAnswer = { status: number; body?: unknown };

type Endpoint = (request: SignalRequest) => Promise<SignalAnswer>;

type Tx = Kysely<unknown>;

const idMember = z.object({ stream_id: z.string().min(1).max(100) });
const statusBody = idMember.extend({ status: z.enum(store.statuses), reason: unicodeText.max(300).nullish() });
const subjectBody = idMember.extend({ subject: subjectIdentifier, verified: z.boolean().optional() });
const verifyBody = idMember.extend({ state: unicodeText.max(1_000).nullish() });

/** Another gateway, whose clock is ahead or behind, may have served the verification before. */
const toleranceMs = 1_000;

/** chosen: a receiver with the right to everything may exclude this many subjects. */
const excludedMax = 1_000;

export const noSuchStream = (): Fault => new Fault('NOT_FOUND', 'There is no such stream of this client');

/** The stream of the client, locked. Throws NOT_FOUND, also for a stream of another client. */
const lockOwn = async (tx: Tx, clientId: string, streamId: string): Promise<store.Stream> => {
  const own = await store.streamOfClient(tx, clientId);
  const stream = own?.streamId === streamId ? await store.lockStream(tx, streamId) : undefined;
  if (stream === undefined) throw noSuchStream();
  return stream;
};

const requireId = (streamId: string | undefined): string => parseBody(idMember, { stream_id: streamId }).stream_id;

export const createStreamEndpoints = (deps: StreamDeps) => {
  const { db, box, clock, origin, inChangeTurn, pushProblem = noPush } = deps;
  const show = (stream: store.Stream) => showConfiguration(stream, pollUrlOf(origin, stream.streamId));
  const audited: Audited = (tx, { about }, stream, done, more = {}) =>
    appendChange(tx, box, clock.now(), {
      ...about,
      action: 'signals.changed',
      client_id: stream.clientId,
      actor: stream.clientId,
      details: JSON.stringify({ stream: stream.streamId, done, ...more }),
    });
  const change = <T>(clientId: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
    inChangeTurn(clientId, () => inTransaction(db, work));
  /** In one transaction with the stream locked. */
  const onOwn = <T>(
    clientId: string,
    streamId: string,
    work: (tx: Tx, stream: store.Stream) => Promise<T>,
  ): Promise<T> => change(clientId, async (tx) => work(tx, await lockOwn(tx, clientId, streamId)));

  const create: Endpoint = async ({ clientId, body, about }) => {
    const made: store.Stream = {
      ...{ streamId: newId('str'), clientId, issuer: origin, ...unsupplied, status: 'enabled' },
      ...{ statusReason: null, verifiedAt: null, failures: 0 },
    };
    const stream = await applyConfiguration({ box, pushProblem }, made, readConfiguration(body), true);
    await change(clientId, async (tx) => {
      if (!(await store.insertStream(tx, stream, clock.now())))
        throw new Fault('CONFLICT', 'The client has a stream already; read it, or delete it first');
      await audited(tx, { about }, stream, 'created', { delivery: stream.delivery });
    });
    return { status: 201, body: show(stream) };
  };

  const read: Endpoint = async ({ clientId, streamId }) => {
    const stream = await store.streamOfClient(db, clientId);
    if (streamId === undefined) return { status: 200, body: stream === undefined ? [] : [show(stream)] };
    if (stream?.streamId !== streamId) throw noSuchStream();
    return { status: 200, body: show(stream) };
  };

  const write =
    (replaces: boolean): Endpoint =>
    async ({ clientId, body, about }) => {
      const given = readConfiguration(body);
      const streamId = requireId(given.stream_id);
      const before = await store.streamOfClient(db, clientId);
      if (before?.streamId !== streamId) throw noSuchStream();
      assertUnchanged(given, show(before));
      // The address is resolved before the stream is locked, since a name server may be slow.
      await applyConfiguration({ box, pushProblem }, before, given, replaces);
      const checked = { box, pushProblem: () => Promise.resolve(undefined) };
      return onOwn(clientId, streamId, async (tx, stream) => {
        const changed = await applyConfiguration(checked, stream, given, replaces);
        await store.updateStream(tx, changed, clock.now());
        await audited(tx, { about }, changed, 'configured', { delivery: changed.delivery });
        return { status: 200, body: show(changed) };
      });
    };

  const remove: Endpoint = ({ clientId, streamId, about }) =>
    onOwn(clientId, requireId(streamId), async (tx, stream) => {
      await store.deleteStream(tx, stream.streamId);
      await audited(tx, { about }, stream, 'deleted');
      return { status: 204 };
    });

  return { create, read, update: write(false), replace: write(true), remove, ...standing(deps, onOwn, audited) };
};

type OnOwn = <T>(clientId: string, streamId: string, work: (tx: Tx, stream: store.Stream) => Promise<T>) => Promise<T>;

type Audited = (
  tx: Tx,
  request: Pick<SignalRequest, 'about'>,
  stream: store.Stream,
  done: string,
  more?: object,
) => Promise<void>;

/** Status, subjects and verification. */
const standing = ({ db, clock }: StreamDeps, onOwn: OnOwn, audited: Audited) => {
  const showStatus = (stream_id: string, status: store.StreamStatus, reason: string | null | undefined) => ({
    ...{ stream_id, status },
    ...(reason === null || reason === undefined ? undefined : { reason }),
  });

  const readStatus: Endpoint = async ({ clientId, streamId }) => {
    const id = requireId(streamId);
    const stream = await store.streamOfClient(db, clientId);
    if (stream?.streamId !== id) throw noSuchStream();
    return { status: 200, body: showStatus(id, stream.status, stream.statusReason) };
  };

  const setStatus: Endpoint = ({ clientId, body, about }) => {
    const { stream_id, status, reason } = parseBody(statusBody, body);
    return onOwn(clientId, stream_id, async (tx, stream) => {
      await changeStatus(tx, stream, { status, reason: reason ?? null }, clock.now(), { announced: false });
      if (status !== stream.status) await audited(tx, { about }, stream, status);
      return { status: 200, body: showStatus(stream_id, status, reason) };
    });
  };

  /** Section 8.1.3: an unknown subject gets the same answer as a known one, which would tell who exists. */
  const addSubject: Endpoint = ({ clientId, body }) => {
    const { stream_id, subject } = parseBody(subjectBody, body);
    return onOwn(clientId, stream_id, async (tx, stream) => {
      const id = subjectIdOf(subject, stream.issuer);
      if (id !== undefined) await store.includeSubject(tx, stream_id, id);
      return { status: 200 };
    });
  };

  const removeSubject: Endpoint = ({ clientId, body }) => {
    const { stream_id, subject } = parseBody(subjectBody, body);
    return onOwn(clientId, stream_id, async (tx, stream) => {
      const id = subjectIdOf(subject, stream.issuer);
      if (id !== undefined && !(await store.excludeSubject(tx, stream_id, id, excludedMax)))
        throw new Fault('CONFLICT', `At most ${excludedMax} subjects can be removed from a stream`);
      return { status: 204 };
    });
  };

  const verify: Endpoint = ({ clientId, body }) => {
    const { stream_id, state } = parseBody(verifyBody, body);
    return onOwn(clientId, stream_id, async (tx, stream) => {
      const now = clock.now();
      const againMs = (stream.verifiedAt?.getTime() ?? 0) + verificationSecondsMin * 1000 - toleranceMs - now.getTime();
      if (againMs > 0) throw rateLimited(Math.ceil(againMs / 1000), 'calls');
      await store.markVerified(tx, stream_id, now);
      if (stream.status === 'disabled') return { status: 204 };
      const payload = state === null || state === undefined ? {} : { state };
      const event = { id: newId('set', now.getTime()), type: verification, payload, at: now, always: false };
      await insertStreamEvent(tx, stream_id, event);
      return { status: 204 };
    });
  };

  return { readStatus, setStatus, addSubject, removeSubject, verify };
};

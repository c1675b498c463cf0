/**
 * Sends the audit to its sinks. Each sink has a service of its own that reads stored events, so a slow or failing sink
 * delays no request and costs one page of memory. Events arrive at least once, because the position is saved after the
 * sink took a batch; receivers recognise repeated events by `event.id`. Only the gateway that holds the lease of a sink
 * sends to it. It renews the lease before each attempt.
 */
import { createHmac } from 'node:crypto';
import type { Kysely } from 'kysely';
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import type { Logger } from '#src/platform/log.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { pause, type Service } from '#src/platform/supervisor.ts';
import { markSigned } from '../chain/mark-signed.ts';
import { readChain } from '../chain/read-chain.ts';
import { toCheckpointLine, toJsonLines } from '../search/export-audit.ts';
import {
  beginPositions,
  listPositions,
  listUnsent,
  type Position,
  releaseLease,
  resetPosition,
  type SignPosition,
  savePosition,
  takeLease,
  type Unsent,
} from './sink-store.ts';
import { createFileSink, createHttpSink, createStreamSink, type Sink } from './sinks.ts';

export type FeedSinksDeps = {
  db: Kysely<unknown>;
  box: Pick<SecretBox, 'derive'>;
  log: Logger;
  holder: string;
  /** Authorization for the HTTP receiver now. Default: that of the settings. */
  readAuthorization?: (() => string | undefined) | undefined;
  /** The newest checkpoint that this gateway knows. A sink gets it as a line of its own. */
  checkpoint?: () => string | null;
};

const lookEveryMs = 500;
const checkEveryMs = 5_000;
const leaseSeconds = 30;
/** Shorter than the lease, so that no other gateway sends while an attempt runs. */
const attemptMs = 10_000;
const retryMsMin = 250;
const retryMsMax = 15_000;
const chainsMax = 200;
/** chosen: a checkpoint a minute is enough to bound what a forger could change, and costs a sink little. */
const checkpointEveryMs = 60_000;

/** Those of the audit that choose its sinks. */
type SinkSettings = {
  audit_file?: string | undefined;
  audit_stdout: 'on' | 'off';
  audit_http_url?: string | undefined;
  audit_http_authorization?: string | undefined;
};

/** A service for each sink that the settings name. */
export const createAuditSinks = (deps: FeedSinksDeps, settings: SinkSettings): Service[] => {
  const { audit_file: path, audit_http_url: url } = settings;
  const readAuthorization = deps.readAuthorization ?? (() => settings.audit_http_authorization);
  const sinks: Sink[] = [];
  if (path !== undefined) sinks.push(createFileSink(path));
  if (settings.audit_stdout === 'on') sinks.push(createStreamSink(process.stdout));
  if (url !== undefined) sinks.push(createHttpSink({ url, readAuthorization, timeoutMs: attemptMs }));
  return sinks.map((sink) => ({ name: `audit-${sink.name}`, run: (signal) => feed(deps, sink, signal) }));
};

const feed = async (deps: FeedSinksDeps, sink: Sink, signal: AbortSignal): Promise<void> => {
  const { db, holder } = deps;
  const sign = createSignPosition(deps, sink);
  const batch = createBatch();
  let begun = false;
  let checkedMs = Number.NEGATIVE_INFINITY;
  const sendCheckpoint = createSendCheckpoint(deps, sink);
  try {
    while (!signal.aborted) {
      const isHolder = await takeLease(db, sink.name, holder, leaseSeconds);
      if (isHolder && !begun) {
        await beginPositions(db, sink.name, sign);
        begun = true;
      }
      if (isHolder && performance.now() - checkedMs > checkEveryMs) {
        checkedMs = performance.now();
        for (const position of await listPositions(db, sink.name)) await isOwn(deps, sink, position, sign);
      }
      const unsent = isHolder ? await listUnsent(db, sink.name, chainsMax) : [];
      for (const chain of unsent) if (!signal.aborted) await sendPage(deps, sink, { unsent: chain, batch }, signal);
      if (isHolder) await sendCheckpoint(signal);
      if (unsent.length === 0) await pause(lookEveryMs, signal);
    }
  } finally {
    await releaseLease(db, sink.name, holder);
  }
};

/**
 * How many lines a sink gets at a time: half as many after each failure, and again more after each success. A receiver may refuse a
 * batch for its length, or take longer for it than an attempt may, and would never take the same batch.
 */
const createBatch = () => {
  let linesMax = Number.POSITIVE_INFINITY;
  return {
    of: (lines: readonly string[]): readonly string[] => lines.slice(0, linesMax),
    taken: (): void => {
      linesMax = Math.ceil(linesMax * 1.25);
    },
    failed: (sent: number): void => {
      linesMax = Math.max(1, Math.floor(sent / 2));
    },
  };
};

type Batch = ReturnType<typeof createBatch>;

const sendPage = async (
  deps: FeedSinksDeps,
  sink: Sink,
  { unsent, batch }: { unsent: Unsent; batch: Batch },
  signal: AbortSignal,
): Promise<void> => {
  const { chain, position } = unsent;
  const sign = createSignPosition(deps, sink);
  if (position > 0 && !(await isOwn(deps, sink, unsent, sign))) return;
  const page = await readChain(deps.db, unsent, position);
  for (const gap of page.gaps)
    deps.log.error({ sink: sink.name, ...gap }, 'events of the audit were dropped before the sink took them');
  const lines = (await markSigned(deps, page.events)).map((event) => toJsonLines([event]));
  if (!(await sendUntilTaken(deps, sink, { lines, batch }, signal))) return;
  await savePosition(deps.db, sink.name, chain, page.position, sign);
};

/** Another gateway may send the same checkpoint again; the line names it by its size. */
const createSendCheckpoint = (deps: FeedSinksDeps, sink: Sink) => {
  let sent: string | null = null;
  let sentMs = Number.NEGATIVE_INFINITY;
  return async (signal: AbortSignal): Promise<void> => {
    const checkpoint = deps.checkpoint?.() ?? null;
    if (checkpoint === null || checkpoint === sent || performance.now() - sentMs < checkpointEveryMs) return;
    const lines = [toCheckpointLine(checkpoint, new Date())];
    if (!(await sendUntilTaken(deps, sink, { lines, batch: createBatch() }, signal))) return;
    sent = checkpoint;
    sentMs = performance.now();
  };
};

const createSignPosition = ({ box }: FeedSinksDeps, sink: Sink): SignPosition => {
  const key = box.derive('audit-sink');
  return (chain, seq) =>
    createHmac('sha256', key)
      .update(JSON.stringify([sink.name, chain, seq]))
      .digest();
};

/** A forged position would make the sink skip events. False: this installation did not sign the position. */
const isOwn = async (deps: FeedSinksDeps, sink: Sink, at: Position, sign: SignPosition): Promise<boolean> => {
  const { chain, position, mac } = at;
  if (mac !== null && equalInConstantTime(mac, sign(chain, position))) return true;
  await resetPosition(deps.db, sink.name, at, sign);
  deps.log.error(
    { sink: sink.name, chain, position },
    'the position of a sink has no valid signature; its chain is sent again',
  );
  return false;
};

/** Sends the lines in batches. False when this gateway stops or has lost the lease. */
const sendUntilTaken = async (
  { db, log, holder }: FeedSinksDeps,
  sink: Sink,
  { lines, batch }: { lines: readonly string[]; batch: Batch },
  signal: AbortSignal,
): Promise<boolean> => {
  let taken = 0;
  let waitMs = retryMsMin;
  while (taken < lines.length) {
    if (signal.aborted || !(await takeLease(db, sink.name, holder, leaseSeconds))) return false;
    const sent = batch.of(lines.slice(taken));
    try {
      await sink.send(sent.join(''), signal);
      batch.taken();
      taken += sent.length;
      waitMs = retryMsMin;
    } catch (error) {
      if (signal.aborted) return false;
      batch.failed(sent.length);
      log.warn(
        { err: error, sink: sink.name, lines: sent.length, retryMs: waitMs },
        'a sink of the audit failed; trying again',
      );
      await pause(waitMs, signal);
      waitMs = Math.min(waitMs * 2, retryMsMax);
    }
  }
  return true;
};

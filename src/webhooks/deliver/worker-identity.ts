/**
 * Who leases. A worker that dies leaves leases that others need not wait for: each lease names its worker, and a worker is
 * dead when the session that holds its advisory lock is gone and it was not seen for `deadMs` by the clock of the database.
 * A worker that lives and cannot be seen, because its connection is lost or its process stood still, stops sending
 * before that: from `sendMs` after it last asked to be seen it begins no attempt and cuts those that are on their way. So no
 * two workers send the same attempt. Where it comes back before others have taken over it goes on as it was; otherwise it
 * begins anew under another name. Behind a pooler that keeps sessions for others a dead worker's lock may be held on,
 * and its leases end by themselves.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { openSession, type Session } from '#src/platform/db/driver/session.ts';
import { inTransaction, isTransient } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause } from '#src/platform/supervisor.ts';
import {
  buryWorker,
  enterWorker,
  leaveWorker,
  listUnseen,
  lockWorker,
  noteSeen,
  type Worker,
} from '../queue/worker-store.ts';

type IdentityDeps = {
  db: Kysely<unknown>;
  pool: Pool;
  clock: Clock;
  log: Logger;
  /** Leases of a dead worker were given back. */
  onTakenBack: () => void;
};

export type WorkerIdentity = {
  /** For leases that are taken from now on. */
  leaseToken(): string;
  /** Whether it may send: nobody else can have taken over. */
  isHeld(): boolean;
  /** Aborted when it may not send any more; for attempts that begin now. */
  sending(): AbortSignal;
  /** Ends what is being sent. */
  cut(): void;
  start(): void;
  /** `isDone`: it has no lease any more. */
  stop(isDone: boolean): Promise<void>;
};

const seenEveryMs = 500;
const sendMs = 2_500;
/** `sendMs`, and some: for a timer that is late, and for what a crash of the server forgets. */
const deadMs = 3_500;
/** Every lease of it has ended long ago. */
const forgottenMs = 10 * 60_000;
const reconnectMs = 250;

const newWorker = (now: Date): Worker => ({
  uid: newId('wrk', now.getTime()),
  lockKey: randomBytes(8).readBigInt64BE().toString(),
});

export const createWorkerIdentity = (deps: IdentityDeps): WorkerIdentity => {
  const { db, pool, clock, log } = deps;
  let worker = newWorker(clock.now());
  let heldUntilMs = 0;
  let sending = new AbortController();
  let session: Session | undefined;
  let stopping = new AbortController();
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let burying: Promise<void> | undefined;
  const isHeld = (): boolean => performance.now() < heldUntilMs;
  const cut = (): void => {
    sending.abort();
    sending = new AbortController();
  };
  const lose = (): void => {
    if (isHeld()) return;
    log.warn('the database did not confirm this worker in time: what it was sending was cut');
    cut();
    // It may hang: the next one is asked.
    session?.close();
  };
  const confirm = (askedMs: number): void => {
    heldUntilMs = askedMs + sendMs;
    clearTimeout(timer);
    // A process that stood still has the answer already, and reads it before this.
    timer = setTimeout(() => setImmediate(() => setImmediate(lose)), Math.max(0, heldUntilMs - performance.now()));
    timer.unref();
  };
  const bury = async (uids: readonly string[]): Promise<void> => {
    for (const uid of uids) {
      const count = await inTransaction(db, (tx) => buryWorker(tx, uid, { now: clock.now(), deadMs }));
      if (count === undefined) continue;
      log.warn({ worker: uid, count }, 'a worker is gone: what it was sending is sent again');
      deps.onTakenBack();
    }
  };
  /** Beside being seen, which must not wait for it. */
  const buryBeside = (uids: readonly string[]): void => {
    if (burying !== undefined || uids.length === 0) return;
    burying = bury(uids)
      .catch((error: unknown) => log.warn({ err: error }, 'what a dead worker had leased was not given back'))
      .finally(() => {
        burying = undefined;
      });
  };
  const beSeen = async ({ client, over }: Session): Promise<void> => {
    while (!stopping.signal.aborted && !over.aborted) {
      const askedMs = performance.now();
      if (await noteSeen(client, worker.uid)) confirm(askedMs);
      else {
        // Others have its leases.
        cut();
        worker = newWorker(clock.now());
        await enterWorker(client, worker);
        continue;
      }
      buryBeside(await listUnseen(client, worker.uid, { deadMs, forgottenMs }));
      await pause(seenEveryMs, AbortSignal.any([stopping.signal, over]));
    }
  };
  const run = async (): Promise<void> => {
    let isNew = true;
    while (!stopping.signal.aborted) {
      try {
        session = await openSession(pool, 'webhook-worker');
        if (isNew) await enterWorker(session.client, worker);
        else await lockWorker(session.client, worker);
        isNew = false;
        await beSeen(session);
      } catch (error) {
        if (!isTransient(error)) log.error({ err: error }, 'this worker could not be confirmed');
      } finally {
        if (!stopping.signal.aborted) session?.close();
      }
      if (!stopping.signal.aborted) await pause(reconnectMs, stopping.signal);
    }
  };
  return {
    leaseToken: () => `${worker.uid}.${randomUUID()}`,
    isHeld,
    sending: () => sending.signal,
    cut,
    start: () => {
      if (running !== undefined) return;
      stopping = new AbortController();
      running = run();
    },
    stop: async (isDone) => {
      stopping.abort();
      await running;
      await burying;
      running = undefined;
      clearTimeout(timer);
      heldUntilMs = 0;
      // Where that fails, others find it dead.
      if (isDone && session !== undefined && !session.over.aborted)
        await leaveWorker(session.client, worker.uid).catch(() => undefined);
      session?.close();
    },
  };
};

/**
 * The identity of a worker. Each lease names its worker, so that other workers need not wait for the leases of a dead
 * one. A worker is dead when the session that holds its advisory lock is gone and its last heartbeat is `deadMs` old by
 * the clock of the database.
 * A live worker may lose its connection or stand still. From `sendMs` after its last confirmed heartbeat it starts no
 * attempt and cuts those in flight, which is before others may take over. So no two workers send the same attempt. If
 * no other worker has taken over by then, it goes on; otherwise it takes a new identity. A pooler that keeps sessions
 * open may keep the lock of a dead worker; then its leases end by themselves.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import { openSession, type Session } from '#src/platform/db/driver/session.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import { newId } from '#src/platform/ids.ts';
import type { Logger } from '#src/platform/log.ts';
import { pause } from '#src/platform/supervisor.ts';
import { heartbeats } from '../pacing/bounds.ts';
import { deregisterWorker, lockWorker, registerWorker, sendHeartbeat, type Worker } from '../queue/worker-store.ts';
import { createTakeOver } from './take-over.ts';

type IdentityDeps = {
  db: Kysely<unknown>;
  pool: Pool;
  clock: Clock;
  log: Logger;
  /** Leases of a dead worker were returned, so deliveries are due. */
  onTakenOver: () => void;
};

export type WorkerIdentity = {
  /** The token for leases that are taken now. */
  leaseToken(): string;
  /** True while no other worker can have taken over, so that attempts may start. */
  isHeld(): boolean;
  /** For attempts that start now; aborted when they have to stop. */
  sending(): AbortSignal;
  /** Cuts the attempts in flight. */
  cut(): void;
  start(): void;
  /** `isDone`: the worker has no lease any more. */
  stop(isDone: boolean): Promise<void>;
};

const { deadMs, everyMs, forgottenMs, reconnectMs, sendMs } = heartbeats;

const newWorker = (now: Date): Worker => ({
  uid: newId('wrk', now.getTime()),
  lockKey: randomBytes(8).readBigInt64BE().toString(),
});

export const createWorkerIdentity = (deps: IdentityDeps): WorkerIdentity => {
  const { pool, clock, log } = deps;
  let worker = newWorker(clock.now());
  let session: Session | undefined;
  let stopping = new AbortController();
  let running: Promise<void> | undefined;
  const takeOver = createTakeOver(deps);
  // The session may hang when its confirmation is late; a new one is opened.
  const permission = createPermission(log, () => session?.close());
  const runHeartbeats = async ({ client, over }: Session): Promise<void> => {
    while (!stopping.signal.aborted && !over.aborted) {
      const askedMs = performance.now();
      const { isHeld, silent } = await sendHeartbeat(client, worker.uid, { deadMs, forgottenMs });
      if (isHeld) permission.confirm(askedMs);
      else {
        // Other workers have taken over its leases.
        permission.cut();
        worker = newWorker(clock.now());
        await registerWorker(client, worker);
        continue;
      }
      takeOver.start(silent);
      await pause(everyMs, AbortSignal.any([stopping.signal, over]));
    }
  };
  const run = async (): Promise<void> => {
    let isNew = true;
    while (!stopping.signal.aborted) {
      try {
        session = await openSession(pool, 'webhook-worker');
        if (isNew) await registerWorker(session.client, worker);
        else await lockWorker(session.client, worker);
        isNew = false;
        await runHeartbeats(session);
      } catch (error) {
        if (!isTransient(error)) log.error({ err: error }, 'the heartbeats of this worker failed');
      } finally {
        if (!stopping.signal.aborted) session?.close();
      }
      if (!stopping.signal.aborted) await pause(reconnectMs, stopping.signal);
    }
  };
  return {
    leaseToken: () => `${worker.uid}.${randomUUID()}`,
    isHeld: permission.isHeld,
    sending: permission.sending,
    cut: permission.cut,
    start: () => {
      if (running !== undefined) return;
      stopping = new AbortController();
      running = run();
    },
    stop: async (isDone) => {
      stopping.abort();
      await running;
      await takeOver.finished();
      running = undefined;
      permission.end();
      // If this fails, other workers find it dead later.
      if (isDone && session !== undefined && !session.over.aborted)
        await deregisterWorker(session.client, worker.uid).catch(() => undefined);
      session?.close();
    },
  };
};

/** Whether attempts may be in flight: until `sendMs` after the last heartbeat that the database confirmed. */
const createPermission = (log: Logger, onLost: () => void) => {
  let heldUntilMs = 0;
  let sending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const isHeld = (): boolean => performance.now() < heldUntilMs;
  const cut = (): void => {
    sending.abort();
    sending = new AbortController();
  };
  const endIfLate = (): void => {
    if (isHeld()) return;
    log.warn('the database did not confirm this worker in time: its attempts in flight were cut');
    cut();
    onLost();
  };
  return {
    isHeld,
    sending: (): AbortSignal => sending.signal,
    cut,
    /** `askedMs`: when the confirmed heartbeat was sent, in milliseconds of `performance.now()`. */
    confirm: (askedMs: number): void => {
      heldUntilMs = askedMs + sendMs;
      clearTimeout(timer);
      // A process that stood still may have received the confirmation already; it is read before this runs.
      const msLeft = Math.max(0, heldUntilMs - performance.now());
      timer = setTimeout(() => setImmediate(() => setImmediate(endIfLate)), msLeft);
      timer.unref();
    },
    /** No attempt starts any more; those in flight are not cut. */
    end: (): void => {
      clearTimeout(timer);
      heldUntilMs = 0;
    },
  };
};

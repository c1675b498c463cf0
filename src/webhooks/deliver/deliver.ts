/**
 * The claim loop: leases due deliveries and gives them to the sender. It is the complete way of a delivery; the fast path
 * only adds a shorter one. It also looks for the work of the other loops (`worker-polls.ts`). Leases of a worker that dies
 * are taken over when other workers find it dead (`worker-identity.ts`), or they end by themselves. The next attempt sends
 * the same event id again.
 */
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createWake, type Wake } from '#src/platform/wake.ts';
import { claiming, slotting } from '../pacing/bounds.ts';
import { type Look, type LookAt, lookForWork } from '../queue/look-store.ts';
import { type Loop, openLoop } from '../queue/loop-connection.ts';
import { claim } from './claim.ts';
import type { Sender } from './sender.ts';

export type DeliverLook = {
  everyMs: number;
  at(): LookAt;
  /** What other loops of the worker have to do. */
  onLooked(found: Look): void;
};

type DeliverDeps = { pool: Pool; clock: Clock; sender: Sender; look: DeliverLook };

export type Deliver = {
  service: Service;
  /** Deliveries may be due. */
  wake(): void;
};

export const createDeliver = (deps: DeliverDeps): Deliver => {
  const { sender } = deps;
  const enough = Math.min(claiming.endedEnough, Math.ceil(sender.slotsMax / 2));
  let current: Wake | undefined;
  /** Something due may be left in the store. While nothing is, a released slot causes no claim. */
  let mayBeDue = true;
  /** Attempts that ended since the last claim; undefined when that found nothing. */
  let ended: number | undefined;
  let claimedMs = 0;
  let lookedMs = Number.NEGATIVE_INFINITY;
  /** When the first endpoint is due, as far as the last claim or look has seen. */
  let dueAt: Date | undefined;
  const gapLeftMs = (): number => Math.max(0, claimedMs + claiming.gapMs - performance.now());
  const wakeSoon = createWakeSoon(() => current?.now());
  sender.listen({
    onEnded: () => {
      if (!mayBeDue) return;
      if (ended === undefined) return wakeSoon(gapLeftMs());
      ended += 1;
      if (ended >= enough) current?.now();
    },
    onReleased: () => {
      mayBeDue = true;
      if (ended === undefined) wakeSoon(gapLeftMs());
    },
  });
  /** One claim; the attempts start at once. Returns true when the next claim need not wait for an event. */
  const claimOnce = async (loop: Loop): Promise<boolean> => {
    const startedMs = performance.now();
    const now = deps.clock.now();
    claimedMs = startedMs;
    // Deliveries that become due while the claim runs are left to the next one.
    mayBeDue = false;
    const { deliveries, nextAt, isWhole, isPassing } = await claim(loop.db, now, sender.slots, sender.leaseToken());
    if (!isWhole) mayBeDue = true;
    if (dueAt === undefined || dueAt <= now || (nextAt !== undefined && nextAt < dueAt)) dueAt = nextAt;
    ended = deliveries.length === 0 ? undefined : 0;
    for (const { delivery, slot } of deliveries) sender.start(delivery, slot, startedMs);
    return deliveries.length > 0 || isPassing;
  };
  /** Also while claims follow one another, since other loops rely on it. */
  const lookOnce = async (loop: Loop): Promise<void> => {
    lookedMs = performance.now();
    const found = await lookForWork(loop.db, deps.look.at(), sender.held.current());
    sender.held.markEarlier(found.earlier);
    dueAt = found.dueAt ?? undefined;
    deps.look.onLooked(found);
  };
  const isDue = (): boolean => mayBeDue || sender.slots.isShort() || (dueAt !== undefined && dueAt <= deps.clock.now());
  /** Claims and looks, each when it is time to. Returns how long to wait. */
  const turn = async (loop: Loop): Promise<number> => {
    const isOpen = sender.isOpen();
    const isMore = isOpen && isDue() && (await claimOnce(loop));
    if (performance.now() - lookedMs >= deps.look.everyMs) await lookOnce(loop);
    if (isMore) return gapLeftMs();
    const waits = [lookedMs + deps.look.everyMs - performance.now()];
    if (!isOpen || sender.slots.isShort()) waits.push(slotting.shortMs);
    else if (dueAt !== undefined) waits.push(dueAt.getTime() - deps.clock.now().getTime());
    return Math.max(0, Math.min(...waits));
  };
  const run = async (signal: AbortSignal): Promise<void> => {
    const own = createWake(signal);
    current = own;
    // After a failure it is not known what is due.
    mayBeDue = true;
    const loop = await openLoop(deps.pool);
    try {
      while (!signal.aborted) await own.wait(await turn(loop));
    } finally {
      loop.release();
    }
  };
  return {
    wake: () => {
      mayBeDue = true;
      current?.now();
    },
    service: { name: 'webhook-deliver', run },
  };
};

/** Calls `wake` at once or after a delay, once for all calls until then. */
const createWakeSoon = (wake: () => void): ((delayMs: number) => void) => {
  let timer: NodeJS.Timeout | undefined;
  return (delayMs) => {
    if (timer !== undefined) return;
    if (delayMs <= 0) return wake();
    timer = setTimeout(() => {
      timer = undefined;
      wake();
    }, delayMs);
  };
};

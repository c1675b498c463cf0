/**
 * The claim loop: leases due deliveries and gives them to the sender. It is the complete way of a delivery; the fast path
 * only adds a shorter one. Leases of a worker that dies are taken over when other workers find it dead
 * (`worker-identity.ts`), or they end by themselves. The next attempt sends the same event id again.
 */
import type { Pool } from 'pg';
import type { Clock } from '#src/platform/clock.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createWake, type Wake } from '#src/platform/wake.ts';
import { claiming, slotting } from '../pacing/bounds.ts';
import { type Loop, openLoop } from '../queue/loop-connection.ts';
import { type Claimed, claim } from './claim.ts';
import type { Sender } from './sender.ts';

type DeliverDeps = { pool: Pool; clock: Clock; sender: Sender };

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
  /** One claim; the attempts start at once. Returns how long to wait before the next one. */
  const claimOnce = async (loop: Loop): Promise<number> => {
    const startedMs = performance.now();
    const now = deps.clock.now();
    claimedMs = startedMs;
    // Deliveries that become due while the claim runs are left to the next one.
    mayBeDue = false;
    const { deliveries, nextAt, isWhole } = await claim(loop.db, now, sender.slots, sender.leaseToken());
    if (!isWhole) mayBeDue = true;
    ended = deliveries.length === 0 ? undefined : 0;
    for (const { delivery, slot } of deliveries) sender.start(delivery, slot, startedMs);
    if (deliveries.length > 0) return gapLeftMs();
    return idleMs(sender, nextAt, now);
  };
  const run = async (signal: AbortSignal): Promise<void> => {
    const own = createWake(signal);
    current = own;
    const loop = await openLoop(deps.pool);
    try {
      while (!signal.aborted) await own.wait(sender.isOpen() ? await claimOnce(loop) : slotting.shortMs);
    } finally {
      loop.release();
      if (signal.aborted) await sender.stop();
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

/** How long to wait after a claim that found nothing. */
const idleMs = ({ slots }: Sender, nextAt: Claimed['nextAt'], now: Date): number => {
  const lookMs = slots.isShort() ? slotting.shortMs : claiming.pollMs;
  return nextAt === undefined ? lookMs : Math.min(lookMs, nextAt.getTime() - now.getTime());
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

/**
 * The clock of a sandbox (interface 25.3): the real one, and a lead that is stored. Every request of the sandbox reads the lead in its
 * own transaction, so all processes use it at once; a real restaurant costs nothing. Events keep the real time of their recording,
 * by which they are kept, sent and read; only the entity in them has the time of its restaurant.
 */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';
import { dayMs } from '#src/platform/clock.ts';
import { recordAhead } from '#src/platform/db/outbox/outbox.ts';
import type { Operation, OperationInput } from '#src/platform/http/operation.ts';
import { findRestaurant } from './restaurant-store.ts';
import { findAhead, lockClock, saveAhead } from './sandbox-clock-store.ts';

/** Chosen: a year of orders, coupons and statistics. Beyond it, dates of the sandbox would say little. */
const aheadMsMax = 366 * dayMs;

export const secondsMax = aheadMsMax / 1000;

/** The clock of the restaurant. `readNow`: the real one. */
export const clockOf = async (db: Kysely<unknown>, restuid: string, readNow: () => Date): Promise<() => Date> => {
  if (!isSandboxId(restuid)) return readNow;
  const ahead = await findAhead(db, restuid);
  recordAhead(db, ahead);
  return () => new Date(readNow().getTime() + ahead);
};

/** The time of the restaurant. `now`: the real one. */
export const timeOf = async (db: Kysely<unknown>, restuid: string, now: Date): Promise<Date> =>
  (await clockOf(db, restuid, () => now))();

/** The operation with the time of its restaurant in place of the real one. */
export const onItsClock = (operation: Operation): Operation => {
  const { handle, check } = operation;
  const timed = async (input: OperationInput<unknown>): Promise<OperationInput<unknown>> => {
    const readNow = await clockOf(input.db, input.restuid, input.readNow);
    return { ...input, now: readNow(), readNow };
  };
  return {
    ...operation,
    handle: (input, checked) =>
      isSandboxId(input.restuid) ? timed(input).then((at) => handle(at, checked)) : handle(input, checked),
    ...(check && {
      check: (input) => (isSandboxId(input.restuid) ? timed(input).then((at) => check(at)) : check(input)),
    }),
  };
};

export type SandboxClock = { restuid: string; now: Date; aheadMs: number };

/** `to`: a time of the sandbox. `byMs`: from where its clock is. `reset`: the real time again. */
export type ClockMove = { to: Date } | { byMs: number } | { reset: true };

/** Throws NOT_FOUND, and VALIDATION_ERROR for a restaurant that is no sandbox. */
const requireSandbox = async (db: Kysely<unknown>, restuid: string): Promise<void> => {
  if ((await findRestaurant(db, restuid)) === undefined)
    throw new Fault('NOT_FOUND', `There is no restaurant ${restuid}`);
  if (!isSandboxId(restuid))
    throw new Fault('VALIDATION_ERROR', `${restuid} is no sandbox; \`restaurant create --sandbox\` makes one`);
};

export const showSandboxClock = async (db: Kysely<unknown>, restuid: string, now: Date): Promise<SandboxClock> => {
  await requireSandbox(db, restuid);
  const aheadMs = await findAhead(db, restuid);
  return { restuid, now: new Date(now.getTime() + aheadMs), aheadMs };
};

/**
 * The clock only moves forward, so that no order is younger than one before it; `reset` is the exception. VALIDATION_ERROR for a
 * move backward or beyond its bound.
 */
export const moveSandboxClock = async (
  tx: Kysely<unknown>,
  restuid: string,
  move: ClockMove,
  now: Date,
): Promise<SandboxClock> => {
  await requireSandbox(tx, restuid);
  const before = await lockClock(tx, restuid);
  const aheadMs = leadAfter(before, move, now);
  if (!Number.isFinite(aheadMs)) throw new Fault('VALIDATION_ERROR', 'This is not a time');
  if (!('reset' in move) && aheadMs < before)
    throw outOfRange(
      move,
      `The clock of a sandbox moves forward only: it is at ${new Date(now.getTime() + before).toISOString()}. reset gives it the real time again`,
    );
  assertLead(aheadMs, move);
  await saveAhead(tx, restuid, aheadMs);
  return { restuid, now: new Date(now.getTime() + aheadMs), aheadMs };
};

const outOfRange = (move: ClockMove, message: string): Fault => {
  const pointer = 'to' in move ? 'to' : 'advance_seconds';
  return new Fault('VALIDATION_ERROR', message, { errors: [{ pointer, code: 'RANGE', message }] });
};

/** Throws VALIDATION_ERROR for a sandbox whose clock cannot be moved by `byMs`, and changes nothing. */
export const assertClockMoves = async (db: Kysely<unknown>, restuid: string, byMs: number): Promise<void> =>
  assertLead((await findAhead(db, restuid)) + byMs, { byMs });

const assertLead = (aheadMs: number, move: ClockMove): void => {
  if (aheadMs > aheadMsMax)
    throw outOfRange(move, `The clock of a sandbox is at most ${aheadMsMax / dayMs} days ahead`);
};

const leadAfter = (before: number, move: ClockMove, now: Date): number => {
  if ('reset' in move) return 0;
  return Math.round('to' in move ? move.to.getTime() - now.getTime() : before + move.byMs);
};

/** sandbox/clock: a caller reads and moves the clock of its sandbox (interface 25.3). */
import { z } from 'zod';
import { validationFault } from '#src/contract/fault.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';
import { operation } from '#src/platform/http/operation.ts';
import { boolean, dateTime, integer, optional } from '#src/platform/http/values.ts';
import { requireRestaurant } from '../restaurants/require-restaurant.ts';
import { type ClockMove, moveSandboxClock, secondsMax, showSandboxClock } from '../restaurants/sandbox-clock.ts';
import { instant } from '../values/described-members.ts';
import { isoDate } from '../values/venue-time.ts';

const moves = ['advance_seconds', 'to', 'reset'] as const;

const clockAnswer = z
  .object({
    now_iso: instant('The time of the sandbox, with the offset of the venue'),
    ahead_seconds: z.int().min(0).describe('How far it is ahead of the real time'),
    countdown_minutes: z
      .int()
      .min(0)
      .describe(
        'Minutes of this clock after which an order that is not confirmed times out; 0: orders have no countdown',
      ),
  })
  .meta({ id: 'SandboxClock', description: 'The clock of a sandbox' });

export const clockOperation = operation({
  method: 'POST',
  path: '/sandbox/clock',
  summary: 'Read or move the clock of a sandbox',
  errors: [],
  emits: ['order.timeout'],
  params: z.object({
    advance_seconds: optional(integer({ min: 1, max: secondsMax })).describe('Forward by this much from where it is'),
    to: optional(dateTime()).describe('Forward to this time'),
    reset: optional(boolean()).describe('true: the real time again'),
  }),
  answer: z.object({ clock: clockAnswer.describe('After the move; a request without a move shows where it is') }),
  handle: async ({ db, restuid, params, now }) => {
    const { timeZone, confirmationRequired, countdownMinutes } = await requireRestaurant(db, restuid);
    if (!isSandboxId(restuid))
      throw validationFault([{ pointer: 'restuid', code: 'SANDBOX_ONLY', message: 'has no clock of its own' }]);
    const move = readMove(params);
    const moved =
      move === undefined ? await showSandboxClock(db, restuid, now) : await moveSandboxClock(db, restuid, move, now);
    const clock = {
      now_iso: isoDate(moved.now, timeZone) ?? '',
      ahead_seconds: Math.round(moved.aheadMs / 1000),
      countdown_minutes: confirmationRequired ? countdownMinutes : 0,
    };
    return { body: { clock } };
  },
});

type Given = { advance_seconds?: number | undefined; to?: Date | undefined; reset?: boolean | undefined };

/** Undefined without a move. Two moves in one request are refused, because their sequence would decide. */
const readMove = ({ advance_seconds: seconds, to, reset }: Given): ClockMove | undefined => {
  const isReset = reset === true;
  const sent = { advance_seconds: seconds !== undefined, to: to !== undefined, reset: isReset };
  const [first, ...others] = moves.filter((move) => sent[move]);
  if (others.length > 0) {
    const message = `cannot be sent with ${first}`;
    throw validationFault(others.map((pointer) => ({ pointer, code: 'CONFLICTING_VALUES', message })));
  }
  if (seconds !== undefined) return { byMs: seconds * 1000 };
  if (to !== undefined) return { to };
  return isReset ? { reset: true } : undefined;
};

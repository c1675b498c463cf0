/** The plan of the demo's week: a start at any time of any day must be able to play it. */
import { expect, test } from 'vitest';
import { type PlannedStep, planWeek, weekOf } from '#src/app/demo/week/plan-week.ts';

const minuteMs = 60_000;
const everyMs = 11 * minuteMs;
const starts = Array.from(
  { length: (7 * 24 * 60 * minuteMs) / everyMs },
  (_, n) => Date.UTC(2026, 10, 23) + n * everyMs,
);

/** Steps that the core would refuse. */
const refusedOf = (steps: PlannedStep[]): string[] => {
  const placed = new Set<number>();
  const ordered = new Set<number>();
  const signedUp = new Set<number>();
  return steps.flatMap((step) => {
    switch (step.do) {
      case 'sign-up':
        signedUp.add(step.guest);
        return ordered.has(step.guest) ? [`guest ${step.guest} signs up after an order`] : [];
      case 'order':
        placed.add(step.order);
        ordered.add(step.guest);
        return step.redeems && step.guest < 14 && !signedUp.has(step.guest) ? [`order ${step.order} redeems`] : [];
      case 'points':
        return signedUp.has(step.guest) ? [] : [`guest ${step.guest} gets points before the sign-up`];
      case 'confirm':
      case 'close':
      case 'cancel':
        return placed.has(step.order) ? [] : [`${step.do} of order ${step.order}, which is not placed`];
      default:
        return [];
    }
  });
};

test('a week that begins at any time has no order before its guests have signed up, and moves no order that is not placed', () => {
  const wrong = starts.flatMap((to) =>
    refusedOf(planWeek(weekOf(to))).map((problem) => `${new Date(to).toISOString()}: ${problem}`),
  );
  expect(starts.length).toBeGreaterThan(900);
  expect(wrong).toEqual([]);
});

/**
 * The limits of one credential (interface 20), in units; `concurrency` in requests. A missing member means the default of
 * the gateway for `minute` and `burst`, and no limit for the others.
 */
export type OwnLimits = { minute?: number; burst?: number; day?: number; month?: number; concurrency?: number };

export const limitNames = [
  'minute',
  'burst',
  'day',
  'month',
  'concurrency',
] as const satisfies readonly (keyof OwnLimits)[];

/** How far a long import is, for whoever waits for it. */

/** `percent` 0 to 100, never falling. Cheap: may be called for every element. */
export type Progress = (percent: number) => void;

export const noProgress: Progress = () => undefined;

/** What the stages take of the whole, as measured: percent at which each ends. */
export const stages = { read: 30, planned: 55, written: 99 } as const;

/** Percent of a stage that goes from `from` to `to`, `share` 0 to 1 of which is done. */
export const within = (from: number, to: number, share: number): number => Math.floor(from + (to - from) * share);

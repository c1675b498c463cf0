/** The progress of a long import. */

/** `percent` 0 to 100, never falling. Cheap enough to be called for every element. */
export type Progress = (percent: number) => void;

export const noProgress: Progress = () => undefined;

/** Percent at which each stage ends. Measured: the part of the whole duration that each stage takes. */
export const stages = { read: 30, planned: 55, written: 99 } as const;

/**
 * Overall percent inside a stage that goes from `from` to `to`. `share`: the part of the stage that is done, 0 to 1.
 */
export const within = (from: number, to: number, share: number): number => Math.floor(from + (to - from) * share);

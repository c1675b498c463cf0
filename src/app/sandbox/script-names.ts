/** The scripts of `sandbox play` that come with the program. */
export const scriptNames = ['quiet-lunch', 'friday-night', 'everything-goes-wrong'] as const;

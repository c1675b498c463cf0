/** What the pages of the area "support" call; `src/app/panel/support-ports.ts` implements it over the features. */
export type SupportPorts = Readonly<Record<never, never>>;

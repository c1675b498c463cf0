/** What the pages of the area "security" call; `src/app/panel/security-ports.ts` implements it over the features. */
export type SecurityPorts = Readonly<Record<never, never>>;

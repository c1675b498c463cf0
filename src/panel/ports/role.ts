/** The roles of staff accounts. */

export const roles = ['owner', 'support', 'security', 'admin'] as const;
export type Role = (typeof roles)[number];

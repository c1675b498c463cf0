/** Roles of the staff: each page names those that may see it. */

export const roles = ['owner', 'support', 'security', 'admin'] as const;
export type Role = (typeof roles)[number];

/** The roles of accounts. A contact is of an integrator and no member of staff. */

export const roles = ['owner', 'support', 'security', 'admin', 'contact'] as const;
export type Role = (typeof roles)[number];

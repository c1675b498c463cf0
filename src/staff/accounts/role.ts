/** The role of a staff account. */

export const roles = ['owner', 'support', 'security', 'admin', 'contact'] as const;
export type Role = (typeof roles)[number];
export const isRole = (value: unknown): value is Role => roles.some((role) => role === value);

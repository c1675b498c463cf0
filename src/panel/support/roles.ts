/** Roles that may open the pages of support. */
import type { Role } from '../ports/role.ts';

export const supportRoles: readonly Role[] = ['support', 'admin'];

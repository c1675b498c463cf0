/** Who may open the pages of this area. */
import type { Role } from '../ports/role.ts';

export const supportRoles: readonly Role[] = ['support', 'admin'];

/** Who may open the pages of this area. */
import type { Role } from '../frame/page.ts';

export const supportRoles: readonly Role[] = ['support', 'admin'];

/** Pages and actions of the area "security", for the roles security, admin. */
import type { Page, Role } from '../frame/page.ts';
import { showEvent } from './event-page.ts';
import { showSearch } from './search-page.ts';

const roles: readonly Role[] = ['security', 'admin'];

export const securityPages: readonly Page[] = [
  { method: 'GET', path: '/security/audit', roles, nav: (texts) => texts.security.auditTitle, handle: showSearch },
  { method: 'GET', path: '/security/events/:event', roles, handle: showEvent },
];

/** Pages and actions of the area "security", for the roles security, admin. */
import type { Page } from '../frame/page.ts';

export const securityPages: readonly Page[] = [];

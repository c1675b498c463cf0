/** Pages and actions of the area "support", for the roles support, admin. */
import type { Page } from '../frame/page.ts';

export const supportPages: readonly Page[] = [];

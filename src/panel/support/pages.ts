/** Pages and actions of support, for the roles support and admin. */
import type { Page } from '../page/page.ts';
import { clientListPages } from './client-list-pages.ts';
import { clientPages } from './client-pages.ts';
import { grantPages } from './grant-pages.ts';
import { limitPages } from './limit-pages.ts';
import { requestPages } from './request-pages.ts';
import { restaurantChoicePages } from './restaurant-choice.ts';
import { restaurantPages } from './restaurant-pages.ts';
import { secretPages } from './secret-pages.ts';
import { stopPages } from './stop-pages.ts';
import { unusedScopesPages } from './unused-scopes.ts';
import { usePages } from './use-pages.ts';

export const supportPages: readonly Page[] = [
  ...restaurantPages,
  ...clientListPages,
  ...restaurantChoicePages,
  ...clientPages,
  ...secretPages,
  ...grantPages,
  ...stopPages,
  ...usePages,
  ...limitPages,
  ...requestPages,
  ...unusedScopesPages,
];

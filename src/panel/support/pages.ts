/** Pages and actions of support, for the roles support and admin. */
import type { Page } from '../page/page.ts';
import { clientListPages } from './client-list.ts';
import { clientPages } from './client-page.ts';
import { grantPages } from './grants.ts';
import { restaurantChoicePages } from './restaurant-choice.ts';
import { restaurantPages } from './restaurant-pages.ts';
import { secretPages } from './secret-pages.ts';
import { stopPages } from './stop-client.ts';
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
  ...unusedScopesPages,
];

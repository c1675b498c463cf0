/** All pages, actions and topics of the panel: server/routes.ts mounts them, and the role test checks each of them. */

import { contactPages } from './integrator/contact-pages.ts';
import { explainPages, integratorPages } from './integrator/pages.ts';
import { portalPages } from './integrator/portal-pages.ts';
import { portalTopics } from './integrator/topics.ts';
import { eventsPath } from './live/page-topics.ts';
import type { Topic } from './live/topic.ts';
import { orderingPages } from './ordering/pages.ts';
import { orderingTopics } from './ordering/topics.ts';
import { homePages } from './overview/home-page.ts';
import { searchPages } from './overview/search-page.ts';
import { overviewTopics } from './overview/topics.ts';
import type { Page } from './page/page.ts';
import type { PublicPage } from './page/public-page.ts';
import { accountPages } from './people/account/pages.ts';
import { accountTopics } from './people/account/topics.ts';
import { usersPages } from './people/users/pages.ts';
import { usersTopics } from './people/users/topics.ts';
import { roles } from './ports/role.ts';
import { restaurantPages } from './restaurant/pages.ts';
import { restaurantTopics } from './restaurant/topics.ts';
import { certificatePages } from './security/certificate-pages.ts';
import { securityPages } from './security/pages.ts';
import { signalPages } from './security/signals-page.ts';
import { securityTopics } from './security/topics.ts';
import { forgotPages } from './sign-in/forgot-pages.ts';
import { signInPages } from './sign-in/pages.ts';
import { passkeySignInPages } from './sign-in/passkey-pages.ts';
import { providerPages } from './sign-in/provider-pages.ts';
import { signOutPages } from './sign-in/sign-out.ts';
import { supportPages } from './support/pages.ts';
import { supportTopics } from './support/topics.ts';
import { webhookPages } from './webhooks/pages.ts';

const areaPages: readonly Page[] = [
  ...orderingPages,
  ...restaurantPages,
  ...webhookPages,
  ...supportPages,
  ...contactPages,
  ...portalPages,
  ...securityPages,
  ...signalPages,
  ...certificatePages,
  ...usersPages,
  ...integratorPages,
  ...searchPages,
];

/** The event stream. Each topic has its own roles, so every role may open the stream itself. */
const eventsPage: Page = { method: 'GET', path: eventsPath, roles, handle: () => ({ kind: 'events' }) };

export const allPages: readonly Page[] = [...homePages, ...areaPages, ...accountPages, eventsPage];

/** Pages that need no session. */
export const allPublicPages: readonly PublicPage[] = [
  ...signInPages,
  ...forgotPages,
  ...passkeySignInPages,
  ...providerPages,
  ...signOutPages,
  ...explainPages,
];

export const allTopics: readonly Topic[] = [
  ...overviewTopics,
  ...orderingTopics,
  ...restaurantTopics,
  ...supportTopics,
  ...portalTopics,
  ...securityTopics,
  ...usersTopics,
  ...accountTopics,
];

/** Italiano. Un file per area in `it/`. */

import type { Texts } from '../en/en.ts';
import { account } from './account.ts';
import { auditEvents } from './audit-events.ts';
import { certificates } from './certificates.ts';
import { customers } from './customers.ts';
import { frame } from './frame.ts';
import { integrator } from './integrator.ts';
import { limits } from './limits.ts';
import { menu } from './menu.ts';
import { ordering } from './ordering.ts';
import { overview } from './overview.ts';
import { factor, notices, passkeys } from './people.ts';
import { portal } from './portal.ts';
import { requests } from './requests.ts';
import { restaurant } from './restaurant/restaurant.ts';
import { security } from './security.ts';
import { signIn } from './sign-in.ts';
import { signals } from './signals.ts';
import { support } from './support.ts';
import { users } from './users.ts';

export const it: Texts = {
  frame,
  signIn,
  account,
  certificates,
  restaurant,
  ordering,
  menu,
  customers,
  support,
  limits,
  portal,
  overview,
  requests,
  integrator,
  security,
  signals,
  auditEvents,
  factor,
  notices,
  passkeys,
  users,
};

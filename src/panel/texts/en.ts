/** English. One file per area in `en/`. */
import { account } from './en/account.ts';
import { frame } from './en/frame.ts';
import { integrator } from './en/integrator.ts';
import { restaurant } from './en/restaurant.ts';
import { security } from './en/security.ts';
import { signIn } from './en/sign-in.ts';
import { support } from './en/support.ts';
import { users } from './en/users.ts';

export const en = { frame, signIn, account, restaurant, support, integrator, security, users };

/** The shape of the texts of every language. */
export type Texts = typeof en;

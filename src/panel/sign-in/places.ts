/** Where signing in happens. */

export const signInPath = '/panel/sign-in';
export const codePath = '/panel/sign-in/code';
/** Page that takes a one-time link as `?token=`. */
export const linkPath = '/panel/link';
export const providerPath = '/panel/sign-in/provider';
/** Where an external provider sends the browser back to. */
export const providerReturnPath = '/panel/sign-in/provider/return';

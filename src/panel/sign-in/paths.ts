/** Paths of the sign-in pages. */

export const signInPath = '/panel/sign-in';
export const codePath = '/panel/sign-in/code';
/** The page of a one-time link, which has its token as `?token=`. */
export const linkPath = '/panel/link';
export const providerPath = '/panel/sign-in/provider';
/** The redirect_uri at the external provider. */
export const providerReturnPath = '/panel/sign-in/provider/return';
/** Asks the browser for a passkey. */
export const passkeyPath = '/panel/sign-in/passkey';
/** A link by mail for a forgotten password. */
export const forgotPath = '/panel/sign-in/forgot';

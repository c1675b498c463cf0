/** The tenants that a foreign upstream learns of: those that the caller reaches now. */
/** Servers take heads of 8 KiB by default, and a tenant's id may have 64 characters. */
const tenantsListedMax = 50;

/** `tenants` undefined: there are more than may be listed, and an upstream must not take that for none or for all. */
export const listedTenants = ({
  tenants,
  tenants_disabled: disabled,
}: Readonly<Record<'tenants' | 'tenants_disabled', readonly string[]>>): {
  tenants: readonly string[] | undefined;
  total: number;
} => {
  const reached = disabled.length === 0 ? tenants : tenants.filter((tenant) => !disabled.includes(tenant));
  return { tenants: reached.length > tenantsListedMax ? undefined : reached, total: reached.length };
};

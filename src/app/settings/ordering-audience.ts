/** Audience of the assertions that the core accepts: the upstream's name in the route table. */
export const orderingAudience = 'ordering';

/** Documents the package. */
@ParametersAreNonnullByDefault
package org.example;

import javax.annotation.ParametersAreNonnullByDefault;

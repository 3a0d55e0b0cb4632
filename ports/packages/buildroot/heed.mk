################################################################################
#
# heed
#
################################################################################

HEED_VERSION = @VERSION@
HEED_SITE = @URL@/releases
HEED_SOURCE = heed-$(HEED_VERSION).tar.gz
HEED_LICENSE = MIT
HEED_LICENSE_FILES = LICENSE
HEED_INSTALL_STAGING = YES
HEED_DEPENDENCIES = xsimd
HEED_CONF_OPTS = -DHEED_XSIMD_INCLUDE_DIR=$(STAGING_DIR)/usr/include

$(eval $(cmake-package))

/*
 * The folders that Assay uses. A program that runs from the build tree uses the adapters built there. An
 * installed one looks beside itself (PREFIX/bin/../libexec/assay), then in the folder configured at build
 * time. All results are heap strings.
 */
#ifndef ENGINE_PATHS_H
#define ENGINE_PATHS_H

#ifdef __cplusplus
extern "C" {
#endif

char *paths_libexec(void); /* adapters, the launcher and the engines' registry files */
/* $ASSAY_DATA, else $XDG_DATA_HOME/assay, else ~/.local/share/assay: fetched engines. */
char *paths_data(void);
/*
 * The folder of packages of the Python environment that is meant: that in which this copy of Assay lies
 * (PACKAGES/assay/files/bin/assay, as its wheel is installed), else that of $VIRTUAL_ENV. NULL: there is
 * none.
 */
char *paths_packages(void);
char *paths_known(void);  /* lists of known issues: share/known of the source tree, or the installed folder */
char *paths_config(void); /* $XDG_CONFIG_HOME/assay, else ~/.config/assay */

#ifdef __cplusplus
}
#endif
#endif

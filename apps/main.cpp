#include "bitmma/apps/commands.hpp"

int main(int argc, char** argv) { return bitmma::run_bitmma(argc, argv); }
